/**
 * Reproducible random numbers: all generated data is a pure function of a seed and of keys, so that two processes with
 * the same seed generate the same cluster.
 */

/** A stream of numbers; each call advances it. */
export interface Random {
  /** Returns an integer from `least` to `most`, inclusive. */
  int(least: number, most: number): number
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  fraction(): number
  /** Returns true with this probability (0 to 1). */
  chance(probability: number): boolean
  /** Returns one of the values; throws if there are none. */
  pick<T>(values: readonly T[]): T
  /** Returns this number of lower-case hexadecimal digits. */
  hex(digits: number): string
}

/** Returns the stream of these keys; equal seeds and keys give equal streams. */
export function randomFor(seed: number, ...keys: readonly (string | number)[]): Random {
  let state = hash(`${seed}\u0000${keys.join('\u0000')}`)
  // mulberry32: 32 bits of state are enough for plausible test data.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return {
    fraction: next,
    int: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick: (values) => pickFrom(values, next()),
    hex: (digits) => {
      let text = ''
      while (text.length < digits) {
        text += Math.floor(next() * 4294967296)
          .toString(16)
          .padStart(8, '0')
      }
      return text.slice(0, digits)
    },
  }
}

function pickFrom<T>(values: readonly T[], fraction: number): T {
  const value = values[Math.floor(fraction * values.length)]
  if (value === undefined) throw new RangeError('There is nothing to pick from')
  return value
}

/** FNV-1a over UTF-16 units, with a final mixing step so that keys that differ in one digit give different streams. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return value ^ (value >>> 13)
}
