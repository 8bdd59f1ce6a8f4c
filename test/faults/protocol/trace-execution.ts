/** The state of the specification while the events of one key are replayed, and the leases that Redis has registered. */
import type { Setting } from './settings.ts'
import { actions, initialState, isStale, type State } from './specification.ts'

/** An event that is no possible action. */
export class Impossible extends Error {}

export class Execution {
  readonly state: State
  /** When the registration of each replica ends. */
  readonly registeredUntil: number[]
  /** The time of the event that is replayed. */
  now = 0
  readonly #setting: Setting
  readonly #replicas: ReadonlyMap<string, number>
  readonly #made: Map<string, number>

  /** `replicas`: numbers by name and by URL. `made`: counts the actions by their names. */
  constructor(replicas: ReadonlyMap<string, number>, made: Map<string, number>) {
    this.#replicas = replicas
    this.#made = made
    const count = new Set(replicas.values()).size
    this.#setting = { replicas: count, writers: 0, reads: 0, links: true }
    this.state = initialState(this.#setting)
    this.registeredUntil = new Array(count).fill(0)
  }

  text(): string {
    const { writes, replicas, epoch, stored, storedEpoch } = this.state
    const busy = writes.map((write, at) => ({ number: at + 1, ...write })).filter(({ step }) => step !== 'acknowledged')
    return JSON.stringify({ epoch, stored, storedEpoch, replicas, writes: busy.slice(-4) })
  }

  /** Makes one action of the specification. Returns false if it is not possible. */
  try(name: string): boolean {
    for (const [possible, change] of actions(this.state, this.#setting)) {
      if (possible !== name) continue
      const returned = change(this.state)
      const kind = name.replaceAll(/\d+/g, '#')
      this.#made.set(kind, (this.#made.get(kind) ?? 0) + 1)
      if (returned !== undefined && isStale(returned)) {
        throw new Impossible(`"${name}": ${returned.floor} was acknowledged or returned before`)
      }
      return true
    }
    return false
  }

  make(name: string): void {
    if (!this.try(name)) throw new Impossible(`the specification has no "${name}" now: ${this.text()}`)
  }

  numberOf(name: string): number {
    const number = this.#replicas.get(name)
    if (number === undefined) throw new Error(`there is no replica ${name}`)
    return number
  }

  register(name: string, lease: number): void {
    if (lease <= 0) return
    const replica = this.numberOf(name)
    this.registeredUntil[replica] = Math.max(this.registeredUntil[replica] ?? 0, Math.floor(this.now) + lease)
  }

  /** Ends the leases that a change no longer finds. `change` is made before they begin again. */
  withoutExpiredLeases(change: () => void): void {
    // Redis counts whole milliseconds.
    const expired = this.registeredUntil.flatMap((until, replica) => (Math.floor(this.now) >= until ? [replica] : []))
    for (const replica of expired) this.make(`replica ${replica + 1}: its lease ends`)
    change()
    for (const replica of expired) this.make(`replica ${replica + 1}: a new lease`)
  }
}
