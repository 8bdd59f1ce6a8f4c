/** One node with an address: the state that its calls share. `stack.ts` has the order of what happens to a call. */
import type { NodeCall } from '../core/node-call.ts'
import { layoutRules } from '../layouts/layout-rules.ts'
import type { Send } from './call.ts'
import { CallBudget } from './call-budget.ts'
import { AgentReads } from './failure/agent-reads.ts'
import { NodeHealth } from './failure/health.ts'
import type { PassedOnCalls } from './failure/passed-on-calls.ts'
import type { LayoutState } from './layouts.ts'
import { ConcurrencyLimiter } from './limiter.ts'
import { type Probe, probeAlive, probeExecution, reserveAttemptAt } from './probes.ts'
import { createStack } from './stack.ts'
import { Authorizer, type AuthorizerOptions } from './tokens/authorizer.ts'
import type { Transport, TransportChanges } from './transport.ts'

export interface UpstreamNodeOptions extends AuthorizerOptions {
  readonly transport: Transport
  readonly passedOn: PassedOnCalls
  /** Called when an ejection has ended because the node answered a probe of the edge. */
  readonly onRecover: (node: string) => void
  /** Called with what `GET /` has shown, whatever it was sent for. */
  readonly onProbe: (node: string, probe: Probe) => void
  /** Called with the version in a response of the node. */
  readonly onVersion: (node: string, version: string) => void
}

const LAYOUT_TIMEOUT_MS = 3_000

/** Time in which queued calls of a retired node may still start. */
const RETIREMENT_GRACE_MS = 800

export class UpstreamNode {
  readonly name: string
  readonly url: string
  readonly layout: LayoutState
  /** The version that the node has shown, until this time of the clock. */
  shownVersion?: { readonly version: string; readonly until: number }
  readonly limiter: ConcurrencyLimiter
  readonly health: NodeHealth
  readonly call: Send
  readonly authorizer: Authorizer
  readonly #options: UpstreamNodeOptions
  #budget: CallBudget | undefined

  constructor(options: UpstreamNodeOptions) {
    const { setting, slots, limits, clock, counters } = options
    const { name } = setting
    this.name = name
    this.url = setting.url
    this.layout = options.layoutState
    this.#options = options
    const limiter = new ConcurrencyLimiter(name, slots, { limits, clock, budget: this.#budgetInUse })
    this.limiter = limiter
    this.health = new NodeHealth({
      ...options,
      node: name,
      rules: this.#rules,
      onEject: (rejection, begins) => {
        limiter.rejectQueued(rejection)
        if (begins) options.onEject?.(name)
      },
      ...(options.credentials.mode === 'service' && {
        probeExecution: () => probeExecution(this.call, name, options.releaseOf(name)),
      }),
      onRecover: () => options.onRecover(name),
      reserveAttempt: (pause) => reserveAttemptAt(name, pause, counters),
      probe: async (credentials) =>
        (await this.#ask('probe', options.ejection.silence.probeTimeout, credentials)).outcome,
    })
    this.authorizer = new Authorizer(options, { stack: () => stack, recognise: () => void this.recognise() })
    const agentReads = new AgentReads({ ...options, silence: this.health.silence })
    const stack = createStack({
      ...options,
      agentReads,
      node: name,
      layout: this.layout,
      health: this.health,
      limiter,
      authorizer: this.authorizer,
      budget: this.#budgetInUse,
      rules: this.#rules,
      onVersion: (version) => options.onVersion(name, version),
      release: () => options.releaseOf(name),
    })
    this.call = stack.call
  }

  /** While the layout is not known, the rules with which fewer calls are sent. */
  readonly #rules = () => layoutRules[this.layout.value ?? 'v4']

  /** Returns the budget of calls per minute; `undefined`: the node has no such limit. */
  readonly #budgetInUse = (): CallBudget | undefined => {
    const { counters, clock, limits } = this.#options
    const perMinute = limits().perMinute ?? this.#rules().perMinute
    if (perMinute === 0) return undefined
    this.#budget ??= new CallBudget({
      counters,
      node: this.name,
      limit: () => limits().perMinute ?? this.#rules().perMinute,
      clock,
      onChange: () => this.limiter.applyBudget(),
    })
    return this.#budget
  }

  get #isAdmitting(): boolean {
    return !this.#options.drained.has(this.name) && this.health.ejection.isAdmitting
  }

  /** Whether a call may be sent now: the node is neither drained nor ejected, and its queue has space. */
  get isAvailable(): boolean {
    return this.#isAdmitting && this.limiter.admission.hasQueueSpace
  }

  /** Whether calls are sent to the node, and another one would be queued, or take the last free slot. */
  get isSaturated(): boolean {
    return this.limiter.admission.isSaturated && this.#isAdmitting
  }

  /** Calls that would start without queueing, on slots that no replica uses; 0 if the node is not available. */
  get freeSlots(): number {
    return this.isAvailable ? this.limiter.admission.free : 0
  }

  /** Milliseconds until the limit per minute permits this number of reads; Infinity: it never does. */
  waitForReads(calls: number): number {
    return this.#budgetInUse()?.waitFor('interactive', calls) ?? 0
  }

  /** Milliseconds until one more read may be sent after those in the queue and `others`. */
  waitForNextRead(others: number): number {
    return this.waitForReads(this.limiter.queue + others + 1)
  }

  /** Asks the node for its layout. */
  recognise(): Promise<Probe> {
    return this.#ask('layout', LAYOUT_TIMEOUT_MS)
  }

  async #ask(caller: string, timeout: number, credentials?: NodeCall['credentials']): Promise<Probe> {
    const call = { node: this.name, caller, timeout, ...(credentials && { credentials }) }
    const probe = await probeAlive(this.authorizer.probe, call)
    this.#options.onProbe(this.name, probe)
    return probe
  }

  status() {
    const { queue, slots } = this.limiter
    const budget = this.#budgetInUse()?.shared.state
    const { ejection, hangs } = this.health
    const { remaining: ejectedFor, lastFailure } = ejection
    return {
      inFlight: slots.taken,
      limit: slots.limit.value,
      slots: slots.usable,
      queue,
      ...(budget && { budget }),
      ...(ejectedFor !== undefined && { ejectedFor }),
      ...(hangs && { hangs }),
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
    this.limiter.rejectQueued(this.health.ejection.rejection(1))
    await this.#options.transport.close()
    await this.limiter.close()
    this.#budget?.close()
  }

  /** Rejects queued calls and aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.health.retire()
    this.limiter.rejectQueued(this.health.ejection.rejection(1))
    this.#budget?.close()
    await Promise.all([this.#options.transport.destroy(), this.limiter.close()])
  }
}
