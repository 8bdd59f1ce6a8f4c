/** The slots of one node that this replica has. */
import type { NodeSlots } from '../core/node-call.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { DISTRIBUTE_SLOTS, type DistributionReply, type Lease, leaseOf, noLease } from './slot-script.ts'

interface SlotLeaseOptions {
  readonly replica: Pick<RedisReplica, 'commands' | 'contact' | 'heartbeat' | 'elapsed' | 'times'>
  /** Name of the node. */
  readonly name: string
  /** Unique over all replicas. */
  readonly holder: string
  /** Returns the limit of the node for all replicas together. */
  readonly limit: () => number
  /** The number of usable slots may have changed. */
  readonly onChange: () => void
  readonly onClose: () => void
}

export class SlotLease implements NodeSlots {
  readonly options: SlotLeaseOptions
  #inFlight = 0
  /** Calls in flight, and queued calls that a further slot would start. */
  #demand = 0
  /** The highest demand since the last heartbeat. */
  #peak = 0
  #lease = noLease()
  /** A step in flight: the slots that this replica did not return with it, and whether another one must follow. */
  #step: { readonly kept: number; isFollowed: boolean } | undefined
  /** When the steps over Redis began to fail; undefined after a step that was carried out. */
  #failedAt: number | undefined
  #isObserved = false
  #isClosed = false

  constructor(options: SlotLeaseOptions) {
    this.options = options
  }

  get usable(): number {
    const { replica, limit } = this.options
    const { lostAt } = replica.contact
    const leased = Math.min(this.#leased, limit())
    const since = lostAt ?? this.#failedAt
    if (since === undefined) return this.#isShared ? leased : this.#share
    if (replica.elapsed() - since >= replica.times.lease) return Math.max(leased, this.#share)
    // The other replicas go on with their leases meanwhile. No call waits for a slow Redis, but a call that would have to
    // wait for a slot still does.
    const isFull = lostAt === undefined && (this.#current?.others ?? 0) >= limit()
    return Math.max(leased, isFull ? 0 : 1)
  }

  /** Slots that the other replicas leave free. If it is not known, all: a call is still sent with a slot only. */
  get available(): number {
    this.#isObserved = true
    if (!this.#isShared) return this.usable
    const known = this.#current
    if (known === undefined) return this.options.limit()
    return Math.max(0, known.othersWait ? this.#leased : this.options.limit() - known.others)
  }

  /** Slots to expect over time, for estimates. May be a fraction, if replicas take turns. */
  get expected(): number {
    if (!this.#isShared) return Math.max(this.usable, this.#share)
    return Math.max(this.#leased, this.options.limit() / Math.max(1, this.#current?.holders ?? 1))
  }

  update(inFlight: number, demand: number): void {
    this.#inFlight = inFlight
    this.#demand = demand
    this.#peak = Math.max(this.#peak, demand)
    this.#lease.unused = Math.min(this.#lease.unused, Math.max(0, this.#lease.slots - inFlight))
    this.#moveIfDue()
  }

  /** Runs with each heartbeat. */
  renew(): void {
    this.#expire()
    const isUsed = this.#lease.slots > 0 || this.#demand > 0 || this.#isObserved || this.#failedAt !== undefined
    this.#isObserved = false
    if (isUsed && this.#step === undefined) void this.#move()
    this.#peak = this.#demand
  }

  /** Redis granted a slot for which this holder waited. */
  onGrant(): void {
    if (!this.#isShared || this.#isClosed) return
    if (this.#step === undefined) void this.#move()
    else this.#step.isFollowed = true
  }

  /** Another holder begins to wait. */
  onWaiting(): void {
    this.#lease.othersWait = true
    this.#lease.yields = this.#lease.slots > 0
    if (this.#lease.slots > this.#inFlight) this.onGrant()
  }

  /** Resolves when Redis has the slots, or after the command timeout. */
  async close(kept: number): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.options.onClose()
    const inFlight = kept > 0 ? this.#inFlight : 0
    const { slots, isWaiting } = this.#lease
    const hasSlots = slots > 0 || isWaiting || this.#step !== undefined
    if (hasSlots) await this.#send(inFlight, slots, 0, inFlight > 0 ? Math.ceil(kept) : 0)
  }

  /** Redis is reachable, and the slots of all replicas are known there. */
  get #isShared(): boolean {
    return this.options.replica.contact.hasLeases
  }

  get #share(): number {
    return Math.max(1, Math.floor(this.options.limit() / this.options.replica.heartbeat.replicas))
  }

  get #leased(): number {
    const lease = this.#current
    return lease === undefined ? 0 : (this.#step?.kept ?? lease.slots)
  }

  get #current(): Lease | undefined {
    return this.options.replica.elapsed() < this.#lease.until ? this.#lease : undefined
  }

  /** After a lease without renewal, Redis has given the slots to others. */
  #expire(): void {
    if (this.#current === undefined) this.#lease = noLease()
  }

  #moveIfDue(): void {
    if (this.#step !== undefined || this.#failedAt !== undefined || this.#isClosed || !this.#isShared) return
    this.#expire()
    const { slots, unused, isWaiting, othersWait, yields } = this.#lease
    const isAsking = this.#demand > slots && !isWaiting
    const isYielding = yields && slots - this.#inFlight > unused
    const isReturning = othersWait && this.#demand < slots
    if (isAsking || isYielding || isReturning) void this.#move()
  }

  /** Returns slots, renews the others, and asks for more. One step at a time, so that no reply overtakes another. */
  async #move(): Promise<void> {
    const { limit, replica, onChange } = this.options
    const { slots, othersWait, yields } = this.#lease
    const most = this.#isShared ? limit() : this.#share
    const sought = yields ? this.#inFlight : othersWait ? this.#demand : this.#peak
    const kept = Math.max(this.#inFlight, Math.min(slots, most, sought))
    const wanted = Math.max(kept, Math.min(this.#demand, most))
    const step = { kept, isFollowed: false }
    this.#step = step
    const sentAt = replica.elapsed()
    const reply = await this.#send(this.#inFlight, Math.max(0, slots - kept), wanted)
    // A step that fails again is no news: each report of a failure causes a heartbeat, which repeats the step.
    if (reply.ok || this.#failedAt === undefined) replica.contact.reportReply(reply)
    this.#step = undefined
    this.#failedAt = reply.ok ? undefined : (this.#failedAt ?? sentAt)
    if (reply.ok) this.#lease = leaseOf(reply.value, { until: sentAt + replica.times.lease, wanted, limit: limit() })
    else {
      // Redis may have carried out the step.
      this.#lease.slots = Math.min(this.#lease.slots, kept)
      this.#lease.isWaiting = false
    }
    this.#lease.unused = Math.max(0, this.#lease.slots - this.#inFlight)
    if (this.#isClosed) return
    onChange()
    if (step.isFollowed) this.onGrant()
    else this.#moveIfDue()
  }

  #send(inFlight: number, returned: number, wanted: number, kept = 0) {
    const { replica, limit, holder, name } = this.options
    const { lease, commandTimeout } = replica.times
    const slots = [limit(), this.#share, inFlight, returned, wanted]
    const args = [holder, ...slots, lease, name, redisChannels.slots, kept]
    return replica.commands.runScript<DistributionReply>(
      DISTRIBUTE_SLOTS,
      [redisKeys.slots(name)],
      args,
      commandTimeout,
    )
  }
}
