"""A pipeline and a search with scikit-learn: SMILES go in as they are, and a network can be a step.

    python examples/sklearn_search.py

`CCNRegressor` and `CCNClassifier` follow scikit-learn's conventions: `fit`, `predict`, `score`, `get_params`,
`clone`. As a step of a pipeline `transform` gives the embeddings of a trained network. A search tries settings on
folds of the training rows; the rows kept for the end are used once.
"""

from __future__ import annotations

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import ccn


def molecules() -> tuple[list[str], list[float]]:
    """80 molecules, and RDKit's estimate of their logP."""
    groups = ["O", "N", "Cl", "C(=O)O", "C#N", "C(C)=O", "OC", "F"]
    frames = ["CC{}", "CCCC{}", "CC(C)C{}", "C1CCCC1{}", "C1CCCCC1{}", "c1ccccc1{}", "Cc1ccc(cc1){}", "CCCCCCC{}"]
    frames += ["Oc1ccc(cc1){}", "c1ccncc1{}"]
    smiles = [frame.format(group) for frame in frames for group in groups]
    return smiles, [rdMolDescriptors.CalcCrippenDescriptors(Chem.MolFromSmiles(s))[0] for s in smiles]


def search() -> tuple[dict[str, object], float]:
    """The method and the features of atoms that folds of the training rows prefer, and R2 on the other rows."""
    smiles, y = molecules()
    train, test, y_train, y_test = train_test_split(smiles, y, test_size=0.25, random_state=0)
    tried = {"method": ["ridge", "ccn-2-kernel"], "features": ["element", "compact"]}
    found = GridSearchCV(ccn.CCNRegressor(random_state=0), tried, cv=3).fit(train, y_train)
    return found.best_params_, found.score(test, y_test)


def pipeline(epochs: int = 30) -> float:
    """R2 of a support vector machine on the embeddings of a network of order 1."""
    smiles, y = molecules()
    train, test, y_train, y_test = train_test_split(smiles, y, test_size=0.25, random_state=0)
    network = ccn.CCNRegressor(order=1, channels=8, epochs=epochs, batch_size=16, random_state=0)
    fitted = make_pipeline(network, StandardScaler(), SVR(C=10.0)).fit(train, y_train)
    return float(fitted.score(test, y_test))


if __name__ == "__main__":
    chosen, score = search()
    print(f"search: {chosen}, R2 on rows kept for the end {score:.2f}")
    print(f"embeddings of a network, then a support vector machine: R2 {pipeline():.2f}")
