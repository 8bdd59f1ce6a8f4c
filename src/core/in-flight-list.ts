/**
 * Lists of what is in flight, such as calls. After a few changes, V8 replaces the table of a Map or Set. The old table still
 * refers to what it contained, and to the next table. A full collection makes the present table old, and from then on young
 * collections keep all that passes through the Map, with all that it refers to: of a call, its whole request and response.
 */

/** Removes an item from a list, fastest if it is among the first. Returns whether the list had it. */
export function removeFrom<Item>(list: Item[], item: Item): boolean {
  const at = list.indexOf(item)
  if (at === 0) list.shift()
  else if (at > 0) list.splice(at, 1)
  return at >= 0
}
