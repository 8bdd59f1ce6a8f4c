/** A binary heap: the least stays on top. */
export interface Heap<T> {
  readonly top: T | undefined
  push(one: T): void
  /** The top has changed, and finds its new place. */
  sink(): void
  pop(): void
}

export function createHeap<T>(before: (a: T, b: T) => boolean): Heap<T> {
  const all: T[] = []
  return {
    get top() {
      return all[0]
    },
    push(one) {
      all.push(one)
      up(all.length - 1)
    },
    sink: () => down(0),
    pop() {
      const last = all.pop()
      if (last === undefined || all.length === 0) return
      all[0] = last
      down(0)
    },
  }

  function up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!swapped(parent, at)) return
      at = parent
    }
  }

  function down(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      const least = isBefore(left + 1, left) ? left + 1 : left
      if (!swapped(at, least)) return
      at = least
    }
  }

  function isBefore(one: number, other: number): boolean {
    const [a, b] = [all[one], all[other]]
    return a !== undefined && b !== undefined && before(a, b)
  }

  /** Puts the lower one above where it comes first. */
  function swapped(upper: number, lower: number): boolean {
    const [a, b] = [all[upper], all[lower]]
    if (a === undefined || b === undefined || !before(b, a)) return false
    all[upper] = b
    all[lower] = a
    return true
  }
}
