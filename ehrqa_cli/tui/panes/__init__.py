"""The evidence side: what an answer rests on, and the patient. Each pane is filled when shown."""
