/** Locks of a single process. */
import type { ClientPresence } from '../../core/presence.ts'
import { InFlightMap } from '../in-flight-map.ts'
import { onInteractive } from '../shared-presence.ts'
import type { Lock } from './contract.ts'

export class MemoryLocks {
  readonly #held = new InFlightMap<{ readonly settled: Promise<void>; readonly presence: ClientPresence | undefined }>()

  acquire(name: string, presence?: ClientPresence): Lock {
    const held = this.#held.get(name)
    if (held !== undefined) {
      const endWatch = onInteractive(presence, () => held.presence?.addInteractive?.())
      return { held: false, settled: held.settled.then(endWatch) }
    }
    let settle = () => {}
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const lock = { settled, presence }
    this.#held.set(name, lock)
    return {
      held: true,
      release: async () => {
        // A second release must not remove the lock of the next holder.
        if (this.#held.get(name) === lock) this.#held.delete(name)
        settle()
      },
    }
  }
}
