"""The tables, which the lab has made."""

from django.db import models


class World(models.Model):
    id = models.IntegerField(primary_key=True)
    # In PostgreSQL the column's name is in lower case.
    random_number = models.IntegerField(db_column="randomnumber")

    class Meta:
        managed = False
        db_table = "world"

    def as_json(self):
        return {"id": self.id, "randomNumber": self.random_number}


class Fortune(models.Model):
    id = models.IntegerField(primary_key=True)
    message = models.CharField(max_length=2048)

    class Meta:
        managed = False
        db_table = "fortune"
