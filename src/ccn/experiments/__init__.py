"""The paper's experiments: which cells they have, how they are run, and what is made of the records."""
