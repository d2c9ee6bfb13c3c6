"""The device lock: taking it, naming who holds it, and what is no lock."""
