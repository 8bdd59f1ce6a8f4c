/** A binary min-heap whose top may be changed in place. */
interface Heap<T> {
  /** The least element. */
  readonly top: T | undefined
  push(element: T): void
  /** Restores the order after the top has changed. */
  sinkTop(): void
  /** Removes the top. */
  pop(): void
}

export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const elements: T[] = []
  return {
    get top() {
      return elements[0]
    },
    push(element) {
      elements.push(element)
      moveUp(elements.length - 1)
    },
    sinkTop: () => moveDown(0),
    pop() {
      const last = elements.pop()
      if (last === undefined || elements.length === 0) return
      elements[0] = last
      moveDown(0)
    },
  }

  function moveUp(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!swapIfBefore(parent, at)) return
      at = parent
    }
  }

  function moveDown(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      const least = isElementBefore(left + 1, left) ? left + 1 : left
      if (!swapIfBefore(at, least)) return
      at = least
    }
  }

  function isElementBefore(one: number, other: number): boolean {
    const [a, b] = [elements[one], elements[other]]
    return a !== undefined && b !== undefined && isBefore(a, b)
  }

  /** Swaps two elements if the lower one comes first. */
  function swapIfBefore(upper: number, lower: number): boolean {
    const [a, b] = [elements[upper], elements[lower]]
    if (a === undefined || b === undefined || !isBefore(b, a)) return false
    elements[upper] = b
    elements[lower] = a
    return true
  }
}
