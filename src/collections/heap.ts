/** A binary min-heap whose top may be changed in place. */
export class Heap<T> {
  readonly #isBefore: (a: T, b: T) => boolean
  readonly #elements: T[] = []

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  /** The least element. */
  get top(): T | undefined {
    return this.#elements[0]
  }

  push(element: T): void {
    const elements = this.#elements
    let at = elements.push(element) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const upper = elements[parent] as T
      if (!this.#isBefore(element, upper)) break
      elements[at] = upper
      at = parent
    }
    elements[at] = element
  }

  /** Restores the order after the top has changed. */
  sinkTop(): void {
    const elements = this.#elements
    if (elements.length < 2) return
    const top = elements[0] as T
    let at = 0
    for (let child = 1; child < elements.length; child = 2 * at + 1) {
      const right = child + 1
      if (right < elements.length && this.#isBefore(elements[right] as T, elements[child] as T)) child = right
      const least = elements[child] as T
      if (!this.#isBefore(least, top)) break
      elements[at] = least
      at = child
    }
    elements[at] = top
  }

  /** Removes the top. */
  pop(): void {
    const last = this.#elements.pop()
    if (last === undefined || this.#elements.length === 0) return
    this.#elements[0] = last
    this.sinkTop()
  }
}
