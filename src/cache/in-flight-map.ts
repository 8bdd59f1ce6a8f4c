/** A map of what is in flight. It refers to no value any more once it is deleted (`core/in-flight-list.ts` has the reason). */
export class InFlightMap<Value> {
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
