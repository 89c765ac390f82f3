"""Evaluation: the abstract interpreter that follows q, k and every factor to the softmax."""
