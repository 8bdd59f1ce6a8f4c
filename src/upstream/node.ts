/** One node with an address: the state that the layers of its calls share. */
import type { Layout } from '../core/node-call.ts'
import { CallBudget } from './budget.ts'
import { layoutRules } from './dialects/dialect.ts'
import type { Send } from './layer.ts'
import type { Layouts } from './layouts.ts'
import { ConcurrencyLimiter } from './limiter.ts'
import { NodeHealth, type NodeHealthOptions } from './node-health.ts'
import type { ClusterSettings, NodeSetting, NodeStatus } from './options.ts'
import type { PassedOnCalls } from './passed-on-calls.ts'
import { NodePermits } from './permits.ts'
import { probeAlive, type Recognition, recogniseLayout } from './probes.ts'
import type { OpenSlots } from './slots-in-use.ts'
import { buildStack, type CallStack } from './stack.ts'
import type { TokenCalls } from './tokens/token-calls.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions extends ClusterSettings, Pick<NodeHealthOptions, 'onHang' | 'reserveAttempt'> {
  /** Whether an operator has drained the node. */
  readonly isDrained: () => boolean
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly layouts: Layouts
  readonly passedOn: PassedOnCalls
  /** Creates the tokens of the node, whose logins are sent by `send`. Newer layout only. */
  readonly createTokens: (send: Send) => TokenCalls
}

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800

export class UpstreamNode {
  readonly setting: NodeSetting
  readonly call: Send
  readonly verify: CallStack['verify']
  readonly #attempt: Send
  readonly #options: UpstreamNodeOptions
  readonly limiter: ConcurrencyLimiter
  readonly #budget: CallBudget
  readonly health: NodeHealth
  #tokens: TokenCalls | undefined

  constructor(options: UpstreamNodeOptions) {
    const { setting, slots, counters, limits, layouts, clock, ejection, log, reserveAttempt, onHang } = options
    const { name } = setting
    this.setting = setting
    this.#options = options
    const layout = () => layouts.of(name)
    const rulesOf = (otherwise: Layout) => layoutRules[layout() ?? otherwise]
    const perMinute = () => limits().perMinute ?? rulesOf('newer').perMinute
    const showsProblems = () => rulesOf('newer').showsProblems
    const permits = new NodePermits({ counters, node: name, limit: perMinute })
    this.#budget = new CallBudget({ permits, limit: perMinute, clock })
    const openSlots: OpenSlots = (kind, limit, onChange) =>
      slots.open(kind === 'all' ? name : `${name}:${kind}`, limit, onChange)
    this.limiter = new ConcurrencyLimiter(limits, clock, openSlots, this.#budget)
    this.health = new NodeHealth({
      node: name,
      ejection,
      log,
      clock,
      showsProblems,
      onEject: (rejection, begins) => {
        this.limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(name)
      },
      ...(onHang && { onHang }),
      onRecover: () => options.onRecover?.(name),
      reserveAttempt,
      probe: () => probeAlive(this.#attempt, name, ejection.silence.probeTimeout),
    })
    const { call, verify, attempt } = buildStack({
      ...options,
      layout,
      showsProblems,
      health: this.health,
      limiter: this.limiter,
      budget: this.#budget,
      send: options.transport.send,
      tokensOf: (send) => (rulesOf('classic').hasTokens ? this.#tokensFor(send) : undefined),
    })
    this.call = call
    this.verify = verify
    this.#attempt = attempt
  }

  /** The tokens of a node end with it: a token is valid at its node only. */
  #tokensFor(send: Send): TokenCalls {
    this.#tokens ??= this.#options.createTokens(send)
    return this.#tokens
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    if (this.#options.isDrained()) return false
    return this.health.isAdmitting && this.limiter.hasQueueSpace
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.limiter.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#budget.waitFor('interactive', calls)
  }

  /** Asks the node for its layout. */
  recognise(): Promise<Recognition> {
    return recogniseLayout(this.#attempt, this.setting.name)
  }

  status(): Pick<NodeStatus, 'inFlight' | 'limit' | 'slots' | 'queue' | 'budget' | 'ejectedUntil' | 'lastFailure'> {
    const { inFlight, limit, usable, queue } = this.limiter
    const budget = this.#budget.state
    const { ejectedFor, lastFailure } = this.health
    return {
      inFlight,
      limit,
      slots: usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedUntil: Date.now() + ejectedFor }),
      ...(lastFailure && { lastFailure }),
    }
  }

  /** Applies changed limits, and uses these options for new connections. */
  reconfigure(changes: TransportChanges): void {
    this.limiter.applyLimits()
    this.#options.transport.reconfigure(changes)
  }

  /** Rejects new calls, and queued ones after a grace period. Calls in flight finish. */
  async retire(): Promise<void> {
    this.health.retire()
    await new Promise((resolve) => setTimeout(resolve, RETIREMENT_GRACE_MS).unref())
    this.limiter.rejectQueued(this.health.rejection(1))
    await this.#options.transport.close()
    await this.limiter.close()
    this.#budget.close()
  }

  /** Rejects queued calls and aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.health.retire()
    this.limiter.rejectQueued(this.health.rejection(1))
    this.#budget.close()
    await Promise.all([this.#options.transport.destroy(), this.limiter.close()])
  }
}
