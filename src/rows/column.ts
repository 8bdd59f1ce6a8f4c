/** One field of many rows. Values that occur often are stored once, so that they are compared and sorted once. */

export interface Column {
  /** All values; undefined is one of them if a row has none. */
  readonly values: readonly unknown[]
  /** For each row, the place of its value in `values`. */
  readonly codes: Uint32Array
}

const INITIAL_LENGTH = 64

/** A list of numbers from 0 to 2³² − 1, with four bytes for each. */
export class Numbers {
  #numbers = new Uint32Array(INITIAL_LENGTH)
  #length = 0

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const numbers = new Uint32Array(2 * this.#length)
      numbers.set(this.#numbers)
      this.#numbers = numbers
    }
    this.#numbers[this.#length] = number
    this.#length += 1
  }

  get length(): number {
    return this.#length
  }

  at(place: number): number {
    return this.#numbers[place] ?? 0
  }

  toArray(): Uint32Array {
    return this.#numbers.slice(0, this.#length)
  }
}

/** After this number of rows, a column whose values are mostly different stores each value of each row. */
const SAMPLED_ROWS = 2048
const MAX_DIFFERENT = 0.5

export class ColumnBuilder {
  readonly #values: unknown[] = []
  readonly #codes = new Numbers()
  /** Lists and objects have their JSON text as key. Absent: values are no longer looked up. */
  #codeByKey: Map<unknown, number> | undefined = new Map()
  #length = 0

  add(value: unknown): void {
    this.#codes.push(this.#codeOf(value))
    this.#length += 1
    if (this.#length === SAMPLED_ROWS && this.#values.length > MAX_DIFFERENT * SAMPLED_ROWS) this.#codeByKey = undefined
  }

  build(): Column {
    return { values: this.#values, codes: this.#codes.toArray() }
  }

  #codeOf(value: unknown): number {
    if (this.#codeByKey === undefined) return this.#values.push(value) - 1
    const key = typeof value === 'object' && value !== null ? `json ${JSON.stringify(value)}` : value
    const known = this.#codeByKey.get(key)
    if (known !== undefined && typeof this.#values[known] === typeof value) return known
    const code = this.#values.push(value) - 1
    this.#codeByKey.set(key, code)
    return code
  }
}

export function columnOf(values: readonly unknown[]): Column {
  const builder = new ColumnBuilder()
  for (const value of values) builder.add(value)
  return builder.build()
}
