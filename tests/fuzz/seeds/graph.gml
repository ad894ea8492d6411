graph [
  y 1.5
  node [ id 0 label "C" ]
  node [ id 1 label "O" ]
  edge [ source 0 target 1 weight 2.0 ]
]
