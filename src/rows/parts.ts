/**
 * All rows of a collection in parts: JSON lists of some rows each. One text of all rows would take so long to copy or to
 * parse that it blocks the event loop.
 */

/** Between the rows of a part. Rows themselves have no newline, so their ends are found without parsing them. */
export const ROW_SEPARATOR = ',\n'

/** Parsing or printing this number of bytes takes about a millisecond. */
export const BYTES_PER_PART = 64 * 1024
