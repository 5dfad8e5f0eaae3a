-- Copies read events in the order in which they came.
CREATE UNIQUE INDEX events_by_place ON events (place);
