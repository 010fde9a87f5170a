"""Tables of the library."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Book(models.Model):
    """A title and how many copies are on the shelf."""

    title = models.CharField(max_length=200)
    copies = models.PositiveIntegerField(default=1)

    class Meta:
        permissions = [("lend", "Can lend books")]

    def __str__(self) -> str:
        return self.title


class Loan(models.Model):
    """A copy that somebody has."""

    book = models.ForeignKey(Book, on_delete=models.CASCADE)
    reader = models.CharField(max_length=100)
    lent_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)

    def __str__(self) -> str:
        return f"{self.book} to {self.reader}"


class Key(models.Model):
    """What a member of the staff gives an assistant: only its digest is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return f"Key of {self.user}"
