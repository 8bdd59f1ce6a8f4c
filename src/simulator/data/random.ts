/**
 * Chance that repeats itself: everything that the simulator makes up is a pure function of a seed and of
 * keys that name the thing, so that two processes with the same seed tell the same story.
 */

/** A stream of numbers; each call moves it on. */
export interface Random {
  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number
  /** From 0 up to, but not including, 1. */
  fraction(): number
  /** True with this probability (0 to 1). */
  chance(probability: number): boolean
  /** One of the values; throws where there is none. */
  pick<T>(values: readonly T[]): T
  /** So many lower-case hexadecimal digits. */
  hex(digits: number): string
}

/** The stream that belongs to these keys; the same seed and keys always give the same stream. */
export function randomFor(seed: number, ...keys: readonly (string | number)[]): Random {
  let state = hash(`${seed}\u0000${keys.join('\u0000')}`)
  // mulberry32: 32 bits of state are plenty for data that only has to look alive.
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

/** FNV-1a over UTF-16 units, with a last mixing so that keys which differ in one digit part at once. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return value ^ (value >>> 13)
}
