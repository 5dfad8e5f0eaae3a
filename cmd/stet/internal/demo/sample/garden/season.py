"""What is sown in which month."""

import beds

SOWING = {
    "January": ["beans", "garlic", "peas"],
    "February": ["dill", "onions", "spinach"],
    "March": ["lettuce", "rocket", "beans"],
    "April": ["potatoes", "tomatoes", "dill"],
    "May": ["squash", "chives", "lettuce"],
    "June": ["carrots", "kale", "potatoes"],
    "July": ["fennel", "parsley", "squash"],
    "August": ["mint", "sage", "carrots"],
    "September": ["radishes", "turnips", "fennel"],
    "October": ["thyme", "cress", "mint"],
    "November": ["chard", "leeks", "radishes"],
    "December": ["garlic", "peas", "thyme"],
}


def sow(month: str) -> list[str]:
    """Return what is sown in a month, in the order of the beds."""
    plants = SOWING[month]
    order = [bed.plant for bed in beds.BEDS]
    return sorted(plants, key=order.index)


def months(plant: str) -> list[str]:
    """Return the months in which a plant is sown."""
    return [month for month, plants in SOWING.items() if plant in plants]


def calendar() -> str:
    """Write a line for every month."""
    return "\n".join(f"{month:<10} {', '.join(sow(month))}" for month in SOWING)


def check() -> list[str]:
    """List the plants of the calendar that have no bed."""
    known = {bed.plant for bed in beds.BEDS}
    return sorted({p for plants in SOWING.values() for p in plants} - known)


if __name__ == "__main__":
    print(calendar())
