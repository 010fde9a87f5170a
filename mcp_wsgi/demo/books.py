"""What the demo's library begins with."""

from __future__ import annotations

__all__ = ["BOOKS", "LOANS", "MEMBERS"]

#: ISBN, title, author, year, genre, copies.
BOOKS = [
    ("9780141439471", "Frankenstein", "Mary Shelley", 1818, "gothic", 2),
    ("9780141439846", "Dracula", "Bram Stoker", 1897, "gothic", 1),
    ("9780141439556", "Wuthering Heights", "Emily Brontë", 1847, "gothic", 1),
    ("9780141441146", "Jane Eyre", "Charlotte Brontë", 1847, "gothic", 2),
    ("9780141439518", "Pride and Prejudice", "Jane Austen", 1813, "society", 3),
    ("9780141439587", "Emma", "Jane Austen", 1815, "society", 1),
    ("9780141439549", "Middlemarch", "George Eliot", 1871, "society", 1),
    ("9780141439563", "Great Expectations", "Charles Dickens", 1861, "society", 2),
    ("9780140449136", "Crime and Punishment", "Fyodor Dostoyevsky", 1866, "society", 1),
    ("9780142437247", "Moby-Dick", "Herman Melville", 1851, "adventure", 1),
    ("9780140268867", "The Odyssey", "Homer", -700, "adventure", 2),
    ("9780141439976", "The Time Machine", "H. G. Wells", 1895, "science fiction", 1),
]

#: They are numbered from 1.
MEMBERS = ["Amina Diallo", "Jan de Vries", "李雷", "Zoë Martin"]

#: ISBN, member, and in how many days the loan is due.
LOANS = [
    ("9780141439846", 2, -12),
    ("9780141439518", 2, -3),
    ("9780141439471", 3, 9),
    ("9780140268867", 4, 16),
]
