"""The fast layers under the models."""
