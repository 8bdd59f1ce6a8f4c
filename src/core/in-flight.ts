/**
 * What is in flight, such as calls. After a few changes, V8 replaces the table of a Map or Set. The old table still refers to what
 * it contained, and to the next table. A full collection makes the present table old, and from then on young collections keep
 * all that passes through the Map, with all that it refers to: of a call, its whole request and response.
 */

/** A map that refers to no value any more once it is deleted. */
export class InFlight<Value> {
  readonly #entries = new Map<string, { value: Value | undefined }>()

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value
  }

  set(key: string, value: Value): void {
    this.#entries.set(key, { value })
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) entry.value = undefined
    this.#entries.delete(key)
  }
}

/** Removes an item from a list, fastest if it is among the first. Returns whether the list had it. */
export function removeFrom<Item>(list: Item[], item: Item): boolean {
  const at = list.indexOf(item)
  if (at === 0) list.shift()
  else if (at > 0) list.splice(at, 1)
  return at >= 0
}
