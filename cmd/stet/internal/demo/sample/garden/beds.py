"""The beds of the garden, and the water they take."""

from dataclasses import dataclass

WATER_LEVEL = 5


@dataclass(frozen=True)
class Bed:
    """A bed: what grows there, in how many rows, and its litres a day."""

    plant: str
    rows: int
    litres: float

    def water(self, rain: float) -> float:
        """Return the litres to pour on a day with this much rain in mm."""
        need = self.litres * self.rows - rain * WATER_LEVEL
        return max(0.0, round(need, 1))


BEDS = [
    Bed("beans", rows=2, litres=1.5),
    Bed("carrots", rows=5, litres=2.5),
    Bed("chard", rows=3, litres=3.5),
    Bed("chives", rows=6, litres=4.5),
    Bed("cress", rows=4, litres=5.5),
    Bed("dill", rows=2, litres=6.5),
    Bed("fennel", rows=5, litres=1.5),
    Bed("garlic", rows=3, litres=2.5),
    Bed("kale", rows=6, litres=3.5),
    Bed("leeks", rows=4, litres=4.5),
    Bed("lettuce", rows=2, litres=5.5),
    Bed("mint", rows=5, litres=6.5),
    Bed("onions", rows=3, litres=1.5),
    Bed("parsley", rows=6, litres=2.5),
    Bed("peas", rows=4, litres=3.5),
    Bed("potatoes", rows=2, litres=4.5),
    Bed("radishes", rows=5, litres=5.5),
    Bed("rocket", rows=3, litres=6.5),
    Bed("sage", rows=6, litres=1.5),
    Bed("spinach", rows=4, litres=2.5),
    Bed("squash", rows=2, litres=3.5),
    Bed("thyme", rows=5, litres=4.5),
    Bed("tomatoes", rows=3, litres=5.5),
    Bed("turnips", rows=6, litres=6.5),
]


def find(plant: str) -> Bed:
    """Return the bed of a plant; KeyError if it has none."""
    for bed in BEDS:
        if bed.plant == plant:
            return bed
    raise KeyError(plant)


def total(rain: float = 0.0) -> float:
    """Return the litres that all beds take on a day with this much rain."""
    return round(sum(bed.water(rain) for bed in BEDS), 1)


def thirsty(limit: float, rain: float = 0.0) -> list[str]:
    """List the plants whose beds take more than limit litres."""
    return [bed.plant for bed in BEDS if bed.water(rain) > limit]


def report(rain: float = 0.0) -> str:
    """Write a line for every bed, and one for all."""
    lines = [f"{bed.plant:<10} {bed.water(rain):6.1f} l" for bed in BEDS]
    lines.append(f"{'all':<10} {total(rain):6.1f} l")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
