"""The same federated job in this library and in its peers, side by side."""
