"""What every kind of set is made with: its folder and journal, its files, its card, its splits."""
