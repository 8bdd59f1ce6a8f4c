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
  /** How many interactive clients wait for the response. Absent: one at most. */
  readonly interactiveClients?: number
  /** Calls the listener after each change, until the returned function is called. */
  onChange(listener: () => void): () => void
  /** Calls the listener when a second interactive client waits, until the returned function is called. */
  onShare?(listener: () => void): () => void
  /** Makes the state `connected` for good: what the call is part of has begun to act. Absent: it does not act. */
  pin?(): void
}

export class Presence implements ClientPresence {
  #state: PresenceState = 'connected'
  readonly #listeners = new Set<() => void>()

  get state(): PresenceState {
    return this.#state
  }

  set(state: PresenceState): void {
    if (state === this.#state) return
    this.#state = state
    for (const listener of [...this.#listeners]) listener()
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** The presence of all that await one piece of work: a single connected client is enough. */
export class SharedPresence extends Presence {
  readonly #counts = { connected: 0, halfClosed: 0, left: 0 }
  /** For each member, whether it waits: the work may be a part of a refresh. */
  readonly #members = new Set<() => boolean>()
  #isPinned = false
  readonly #onShare = new Set<() => void>()
  interactiveClients = 0

  get isAwaited(): boolean {
    return [...this.#members].some((isAwaited) => isAwaited())
  }

  /** Returns the function with which the member leaves. `member` is absent for work of the edge, which is never abandoned. */
  join(member: ClientPresence | undefined, isBulk = false): () => void {
    const isAwaited = () => member?.isAwaited !== false
    this.#members.add(isAwaited)
    const isInteractive = isAwaited() && !isBulk
    if (isInteractive) this.interactiveClients += 1
    if (isInteractive && this.interactiveClients === 2) for (const listener of this.#onShare) listener()
    if (member === undefined) this.pin()
    let state: PresenceState | undefined
    const change = (next?: PresenceState) => {
      if (state !== undefined) this.#counts[state] -= 1
      if (next !== undefined) this.#counts[next] += 1
      state = next
      const { connected, halfClosed } = this.#counts
      if (!this.#isPinned) this.set(connected > 0 ? 'connected' : halfClosed > 0 ? 'halfClosed' : 'left')
    }
    const isWatched = member !== undefined && !this.#isPinned
    const stop = isWatched ? member.onChange(() => change(member.state)) : undefined
    if (isWatched) change(member.state)
    return () => {
      this.#members.delete(isAwaited)
      if (isInteractive) this.interactiveClients -= 1
      stop?.()
      if (isWatched) change()
    }
  }

  onShare(listener: () => void): () => void {
    this.#onShare.add(listener)
    return () => this.#onShare.delete(listener)
  }

  pin(): void {
    this.#isPinned = true
    this.set('connected')
  }
}

/** Whether several interactive clients wait for one response. */
export function isShared({ interactiveClients = 0 }: ClientPresence): boolean {
  return interactiveClients > 1
}

/** The error of a call that was not sent because no client awaits it. A client that only closed its side may read it. */
export class AbandonedError extends EdgeError {}

/** To be called with the error of work for a client. Throws if the work ended because the client has left. */
export function throwIfAbandoned(error: unknown, { signal }: { readonly signal: AbortSignal }): void {
  signal.throwIfAborted()
  if (error instanceof AbandonedError) throw error
}
