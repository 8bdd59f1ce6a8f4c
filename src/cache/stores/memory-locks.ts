/** Locks of a single process. */
import type { Lock } from './contract.ts'

export class MemoryLocks {
  readonly #held = new Map<string, Promise<void>>()

  acquire(name: string): Lock {
    const settled = this.#held.get(name)
    if (settled !== undefined) return { held: false, settled }
    let settle = () => {}
    const lock = new Promise<void>((resolve) => {
      settle = resolve
    })
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
