import { type ClientPresence, Presence, type PresenceState } from '../core/presence.ts'

/** The presence of all that await one piece of work: a single connected client is enough. */
export class SharedPresence extends Presence {
  readonly #counts = { connected: 0, halfClosed: 0, left: 0 }
  /** A member may wait no longer: the work may be a part of a refresh. */
  readonly #members = new Set<{ readonly presence: ClientPresence | undefined }>()
  readonly #onUrgent = new Set<() => void>()
  #interactiveClients = 0
  /** Interactive clients from which on the work is urgent. It is 1 if a bulk request or a refresh began the work. */
  #leastInteractive = 2

  get isUrgent(): boolean {
    return this.#interactiveClients >= this.#leastInteractive
  }

  get isInteractive(): boolean {
    return this.#interactiveClients > 0
  }

  get isAwaited(): boolean {
    for (const { presence } of this.#members) if (presence?.isAwaited !== false) return true
    return false
  }

  /** Returns the function with which the member leaves. `member` is absent for work of the edge, which is never abandoned. */
  join(member: ClientPresence | undefined, isBulk = false): () => void {
    const joined = { presence: member }
    let isInteractive = member?.isAwaited !== false && (!isBulk || member?.isUrgent === true)
    // One interactive client suffices if this member began the work: a bulk request, a refresh, or urgent work around it.
    if (this.#members.size === 0 && (!isInteractive || member?.isUrgent)) this.#leastInteractive = 1
    this.#members.add(joined)
    if (isInteractive) this.addInteractive()
    // An interactive client may join later the work that this one is a part of. The member counts once, until it leaves.
    const becomeInteractive = () => {
      if (!isInteractive) this.addInteractive()
      isInteractive = true
    }
    const endWatch = isInteractive ? undefined : member?.onUrgent?.(becomeInteractive)
    if (member === undefined) this.pin()
    let state: PresenceState | undefined
    const change = (next?: PresenceState) => {
      if (state !== undefined) this.#counts[state] -= 1
      if (next !== undefined) this.#counts[next] += 1
      state = next
      const { connected, halfClosed } = this.#counts
      this.set(connected > 0 ? 'connected' : halfClosed > 0 ? 'halfClosed' : 'left')
    }
    const stop = member?.onChange(() => change(member.state))
    change(member?.state)
    return () => {
      this.#members.delete(joined)
      if (isInteractive) this.#interactiveClients -= 1
      endWatch?.()
      stop?.()
      change()
    }
  }

  onUrgent(listener: () => void): () => void {
    this.#onUrgent.add(listener)
    return () => this.#onUrgent.delete(listener)
  }

  override pin(): void {
    if (this.#members.size === 0) this.#leastInteractive = 1
    super.pin()
  }

  addInteractive(): void {
    this.#interactiveClients += 1
    if (this.#interactiveClients === this.#leastInteractive) for (const listener of this.#onUrgent) listener()
  }
}

/** Calls `run` once, when the first interactive client waits: at once if one does. Returns a function that ends the listener, if any. */
export function onInteractive(presence: ClientPresence | undefined, run: () => void): (() => void) | undefined {
  if (presence?.isInteractive) {
    run()
    return undefined
  }
  const end = presence?.onUrgent?.(() => {
    end?.()
    run()
  })
  return end
}
