/** Records the stages of a request for the console, and passes each on to its trace if it has one. */
import type { Span, SpanAttributes, StageName, Trace } from '../../core/trace.ts'

/** A stage as it was measured. Times are of the monotonic clock, in milliseconds. */
export interface StageRecord {
  readonly name: string
  /** The stage around this one. */
  readonly parent: StageRecord | undefined
  readonly startedAt: number
  endedAt?: number
  attributes: SpanAttributes
}

export interface StageSink {
  /** Adds a stage that has begun. */
  addStage(stage: StageRecord): void
  now(): number
}

/** Returns the outermost span of a request, which is no stage itself. `trace`: the span of its trace. */
export function recordStagesIn(sink: StageSink, trace: Span | undefined): Span {
  return new RecordedStage(sink, { inner: trace })
}

interface Place {
  readonly inner: Span | undefined
  /** Absent: the request itself. */
  readonly stage?: StageRecord
}

class RecordedStage implements Span {
  readonly recorded = true
  readonly #sink: StageSink
  readonly #place: Place

  constructor(sink: StageSink, place: Place) {
    this.#sink = sink
    this.#place = place
  }

  get traceId(): Trace['traceId'] {
    return this.#place.inner?.traceId
  }

  get parent(): Trace['parent'] {
    return this.#place.inner?.parent
  }

  get state(): Trace['state'] {
    return this.#place.inner?.state
  }

  startSpan(name: StageName, attributes: SpanAttributes = {}): Span {
    return this.#start(name, attributes, this.#place.inner?.startSpan(name, attributes))
  }

  startCallSpan(attributes: SpanAttributes): Span {
    return this.#start('call', attributes, this.#place.inner?.startCallSpan(attributes))
  }

  startLinkedTrace(name: StageName): Span {
    return this.#start(name, {}, this.#place.inner?.startLinkedTrace(name))
  }

  end(attributes: SpanAttributes = {}): void {
    const { stage, inner } = this.#place
    if (stage !== undefined) {
      stage.endedAt = this.#sink.now()
      stage.attributes = { ...stage.attributes, ...attributes }
    }
    inner?.end(attributes)
  }

  #start(name: string, attributes: SpanAttributes, inner: Span | undefined): Span {
    const stage: StageRecord = { name, parent: this.#place.stage, startedAt: this.#sink.now(), attributes }
    this.#sink.addStage(stage)
    return new RecordedStage(this.#sink, { inner, stage })
  }
}
