/** One node with an address: the state that the layers of its calls share, and the order of the layers. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Layout } from '../core/node-call.ts'
import { CallBudget } from './call-budget.ts'
import { layoutRules } from './dialects/dialect.ts'
import { type Layer, notSent, type Send, stack } from './layer.ts'
import { count, limitHang, nameLayout, queue, refuseDrained, rejecting, retryOnce, traceAttempt } from './layers.ts'
import type { Layouts } from './layouts.ts'
import { ConcurrencyLimiter } from './limiter.ts'
import { NodeHealth, type NodeHealthOptions } from './node-health.ts'
import type { ClusterSettings, NodeSetting, NodeStatus } from './options.ts'
import type { PassedOnCalls } from './passed-on-calls.ts'
import { probeAlive, type Recognition, recogniseLayout } from './probes.ts'
import type { AccountOf } from './tokens/login.ts'
import { type Issue, TokenCalls, type Verify, verifyBy } from './tokens/token-calls.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions extends ClusterSettings, Pick<NodeHealthOptions, 'onHang' | 'reserveAttempt'> {
  readonly setting: NodeSetting
  readonly transport: Transport
  readonly layouts: Layouts
  readonly passedOn: PassedOnCalls
  /** Returns the account of a call, by the credentials in use now. */
  readonly accountOf: AccountOf
}

const NO_TOKENS = { fault: 'unreachable', detail: 'a node of the classic layout issues no tokens' } as const

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800

export class UpstreamNode {
  readonly setting: NodeSetting
  readonly call: Send
  /** Checks the credentials of a call, which is a read that every account may send. */
  readonly verify: Verify
  /** Returns a token for the user whose credentials the call has. */
  readonly issue: Issue
  /** Sends a probe past the health and the concurrency limit of the node. */
  readonly #attempt: Send
  readonly #options: UpstreamNodeOptions
  readonly limiter: ConcurrencyLimiter
  readonly #budget: CallBudget
  readonly health: NodeHealth
  /** The tokens of a node end with it: a token is valid at its node only. */
  #tokens: TokenCalls | undefined

  constructor(options: UpstreamNodeOptions) {
    const { setting, slots, counters, limits, layouts, passedOn, drains, clock, onCall } = options
    const { name } = setting
    this.setting = setting
    this.#options = options
    const layout = () => layouts.of(name)
    const rulesOf = (otherwise: Layout) => layoutRules[layout() ?? otherwise]
    const showsProblems = () => rulesOf('newer').showsProblems
    const perMinute = () => limits().perMinute ?? rulesOf('newer').perMinute
    const budget = new CallBudget({ counters, node: name, limit: perMinute, clock })
    const limiter = new ConcurrencyLimiter(name, slots, { limits, clock, budget })
    const health = new NodeHealth({
      ...options,
      node: name,
      showsProblems,
      onEject: (rejection, begins) => {
        limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(name)
      },
      onRecover: () => options.onRecover?.(name),
      probe: () => probeAlive(attempt, name, options.ejection.silence.probeTimeout),
    })
    const tokens = () => (rulesOf('classic').hasTokens ? this.#tokensFor(onNode) : undefined)
    const authorise: Layer = (next) => (call) => tokens()?.call(call) ?? next(call)
    const reject = rejecting(onCall)

    // The order of a call: calls of clients enter at the top, logins at `onNode`, probes at `attempt`.
    const attempt = stack([count(budget, showsProblems)], options.transport.send)
    const onNode = stack(
      [
        nameLayout(layout),
        refuseDrained(drains, reject),
        health.eject(reject),
        queue({ limiter, health, onCall, clock }, reject),
        limitHang(health, clock),
        health.observe(limiter),
        retryOnce(() => limits().inFlight),
        traceAttempt,
      ],
      attempt,
    )
    this.call = stack([passedOn.limit, layouts.require, authorise], onNode)
    this.verify = layouts.requireToVerify(verifyBy(tokens, onNode))
    this.issue = async (call, refused) => tokens()?.issue(call, refused) ?? notSent(call, NO_TOKENS)

    this.#attempt = attempt
    this.#budget = budget
    this.limiter = limiter
    this.health = health
  }

  #tokensFor(send: Send): TokenCalls {
    const { setting, clock, limits, accountOf, log, counters } = this.#options
    this.#tokens ??= new TokenCalls({
      node: setting.name,
      send,
      accountOf,
      timeout: () => limits().timeout,
      clock: { elapsed: clock, wall: () => Date.now() },
      sleep: (ms) => sleep(ms),
      log,
      counters,
    })
    return this.#tokens
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    return !this.#options.drains.has(this.setting.name) && this.health.isAdmitting && this.limiter.hasQueueSpace
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.limiter.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#budget.waitFor('interactive', calls)
  }

  /** Milliseconds until one more read may be sent after those in the queue. */
  waitForNextRead(): number {
    return this.#budget.waitFor('interactive', this.limiter.queue + 1)
  }

  /** Asks the node for its layout. */
  recognise(): Promise<Recognition> {
    return recogniseLayout(this.#attempt, this.setting.name)
  }

  status(): Pick<
    NodeStatus,
    'inFlight' | 'limit' | 'slots' | 'queue' | 'budget' | 'ejectedUntil' | 'hangs' | 'lastFailure'
  > {
    const { inFlight, limit, usable, queue } = this.limiter
    const budget = this.#budget.state
    const { ejectedFor, lastFailure, isSilent, isHanging } = this.health
    return {
      inFlight,
      limit,
      slots: usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedUntil: Date.now() + ejectedFor }),
      ...((isSilent || isHanging) && { hangs: true }),
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
