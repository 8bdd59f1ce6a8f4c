/** Random numbers that a seed reproduces. */
export interface Random {
  /** A whole number from 0 to under `limit`. */
  below(limit: number): number
  chance(probability: number): boolean
  of<T>(choices: readonly T[]): T
}

/** Mulberry32: 32 bits of state are plenty for choosing operations. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    chance: (probability) => next() < probability,
    of(choices) {
      const chosen = choices[below(choices.length)]
      if (chosen === undefined) throw new Error('nothing to choose from')
      return chosen
    },
  }
}
