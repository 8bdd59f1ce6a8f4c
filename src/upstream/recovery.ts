/**
 * Probes that end the ejection of a node which is silent, or which blocks the address of the edge. A silent node is probed
 * continuously. A block lasts 300 s by default, but a node may have a shorter one: it is tried again by one replica for
 * all, after pauses that grow with the time that the block lasts.
 */
import type { BlockSettings, SilenceSettings } from './options.ts'
import type { ProbeOutcome } from './probes.ts'

export interface RecoveryOptions {
  readonly silence: SilenceSettings
  readonly block: BlockSettings
  readonly probe: () => Promise<ProbeOutcome>
  /**
   * Reserves an attempt at a node that blocks the address. Resolves to `undefined` if a replica has made one within
   * `pause` milliseconds; otherwise to the function that ends the reservation, so that the other replicas try at once.
   */
  readonly reserveAttempt: (pause: number) => Promise<(() => Promise<void>) | undefined>
  /** Called when the node has answered. */
  readonly onAnswer: () => void
  /** Called when the node blocks the address, with the milliseconds until the next attempt may be made. */
  readonly onBlocked: (nextAttemptIn: number) => void
  /** Called when the node was silent again. */
  readonly onSilent: (nextProbeIn: number) => void
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export class Recovery {
  readonly #options: RecoveryOptions
  #timer: NodeJS.Timeout | undefined
  #blockedSince: number | undefined
  #lastAttempt = Number.NEGATIVE_INFINITY

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Probes a silent node until it answers. */
  awaitAnswer(): void {
    this.#blockedSince = undefined
    const { pause, probeTimeout } = this.#options.silence
    this.#options.onSilent(pause + probeTimeout)
    this.#repeat(pause, async (isCurrent) => {
      const outcome = await this.#options.probe()
      if (!isCurrent()) return
      if (outcome === 'answered') this.#end()
      else if (outcome === 'blocked') this.awaitUnblocking()
      else this.#options.onSilent(pause + probeTimeout)
    })
  }

  /** Tries a node that blocks the address of the edge until it answers. The block began now at the latest. */
  awaitUnblocking(): void {
    if (this.#blockedSince !== undefined) return
    const { block, clock } = this.#options
    this.#blockedSince = clock()
    this.#lastAttempt = clock()
    this.#options.onBlocked(block.minPause)
    this.#repeat(block.interval, (isCurrent) => this.#attempt(isCurrent))
  }

  /** Ends the probes, because the ejection has ended otherwise. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#blockedSince = undefined
  }

  async #attempt(isCurrent: () => boolean): Promise<void> {
    const { block, clock, reserveAttempt } = this.#options
    const elapsed = clock() - (this.#blockedSince ?? clock())
    const pause = Math.min(block.maxPause, Math.max(block.minPause, elapsed / 2))
    if (clock() < this.#lastAttempt + pause) return
    const release = await reserveAttempt(pause)
    if (release === undefined) return
    this.#lastAttempt = clock()
    const outcome = await this.#options.probe()
    if (outcome === 'answered') await release()
    if (!isCurrent()) return
    if (outcome === 'answered') this.#end()
    else
      this.#options.onBlocked(Math.min(block.maxPause, Math.max(block.minPause, clock() - (this.#blockedSince ?? 0))))
  }

  #end(): void {
    this.stop()
    this.#options.onAnswer()
  }

  /**
   * Runs the work at intervals until `stop`, each time after the last one has ended. Work that was stopped meanwhile must
   * not eject the node again: no probe would end that ejection.
   */
  #repeat(interval: number, work: (isCurrent: () => boolean) => Promise<void>): void {
    clearTimeout(this.#timer)
    const isCurrent = (): boolean => this.#timer === timer
    const timer = setTimeout(async () => {
      await work(isCurrent)
      if (isCurrent()) this.#repeat(interval, work)
    }, interval).unref()
    this.#timer = timer
  }
}
