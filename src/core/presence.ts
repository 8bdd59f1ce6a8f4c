/** Whether clients still await a response, as far as their connections show it, and the error of a call that none awaits. */
import { EdgeError } from './errors.ts'

/**
 * `halfClosed`: the client has closed its side of the connection (FIN), which does not show whether it still reads. `left`:
 * the connection was reset, or a write to it failed.
 */
export type PresenceState = 'connected' | 'halfClosed' | 'left'

export interface ClientPresence {
  readonly state: PresenceState
  /** Whether anything waits for the response: nothing does for a refresh while the stored response is served. Absent: yes. */
  readonly isAwaited?: boolean
  /** Whether several interactive clients wait for the response, or one if a bulk request or a refresh began it. Absent: no. */
  readonly isUrgent?: boolean
  /** Whether an interactive client waits for the response. Absent: no. */
  readonly isInteractive?: boolean
  /** Calls the listener after each change, until the returned function is called. */
  onChange(listener: () => void): () => void
  /** Calls the listener when `isUrgent` becomes true, until the returned function is called. */
  onUrgent?(listener: () => void): () => void
  /** Counts an interactive client of another caller of the same fetch, such as another replica, until the work ends. */
  addInteractive?(): void
  /** Makes the state `connected` for good: what the call is part of has begun to act. Absent: it does not act. */
  pin?(): void
}

export class Presence implements ClientPresence {
  #state: PresenceState = 'connected'
  #isPinned = false
  readonly #listeners = new Set<() => void>()

  get state(): PresenceState {
    return this.#state
  }

  set(state: PresenceState): void {
    if (state === this.#state || this.#isPinned) return
    this.#state = state
    for (const listener of [...this.#listeners]) listener()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  pin(): void {
    this.set('connected')
    this.#isPinned = true
  }
}

/** The error of a call that was not sent because no client awaits it. A client that only closed its side may read it. */
export class AbandonedError extends EdgeError {}
