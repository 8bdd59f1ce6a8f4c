/** Children of a metric by their label values, found again without making a text of them: this runs for each request. */

type Value = string | number

export class Series<Child> {
  readonly #make: (values: readonly [Value, Value, Value]) => Child
  readonly #root: Branch<Child> = new Map()

  constructor(make: (values: readonly [Value, Value, Value]) => Child) {
    this.#make = make
  }

  of(first: Value, second: Value = '', third: Value = ''): Child {
    const seconds = branch(this.#root, first)
    const thirds = branch(seconds, second)
    const known = thirds.get(third) as Child | undefined
    if (known !== undefined) return known
    const made = this.#make([first, second, third])
    thirds.set(third, made)
    return made
  }
}

type Branch<Child> = Map<Value, Branch<Child> | Child>

function branch<Child>(from: Branch<Child>, value: Value): Branch<Child> {
  const known = from.get(value) as Branch<Child> | undefined
  if (known !== undefined) return known
  const made: Branch<Child> = new Map()
  from.set(value, made)
  return made
}
