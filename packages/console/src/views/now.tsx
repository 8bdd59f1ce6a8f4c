/** Current rates, their history, and the totals of this replica. */
import type { ComponentChildren } from 'preact'
import type { ClientPort } from '../../../../src/status/view-types.ts'
import type { Now } from '../../server/api-types.ts'
import type { Rates } from '../../server/node-types.ts'
import { contractNames } from '../contract.tsx'
import { formatCount, formatDuration, formatPercent, formatRate, formatWorkers } from '../format.ts'
import { useHint } from '../hint.tsx'
import { NodeStrip } from '../node-strip.tsx'
import { Property } from '../property.tsx'
import { CostsSection } from './costs.tsx'
import { HistorySection } from './history.tsx'

export function NowView({ now }: { readonly now: Now | undefined }) {
  return (
    <>
      <h1 class="hidden">Now</h1>
      {now === undefined ? <p class="quiet">Loading …</p> : <Figures rates={now.rates} replicas={now.replicas} />}
      {now !== undefined && <NodeStrip nodes={now.nodes} />}
      <HistorySection />
      <CostsSection />
      {now !== undefined && <TotalsSinceStart now={now} />}
    </>
  )
}

function Figures({ rates, replicas }: { readonly rates: Rates; readonly replicas: number }) {
  const { perSecond, hitRatio, p50, p99, savedPerSecond, callsPerSecond, failuresPerSecond } = rates
  const [saved = '', unit = ''] = formatWorkers(savedPerSecond / 1000).split(/ (?=worker)/)
  const hint = useHint({
    subject: 'manager time saved',
    children: `Cache hits ${replicas === 1 ? 'of this replica ' : ''}saved ${formatDuration(savedPerSecond)} of node time per second in the last ten
      seconds. Divided by one second, this is the number of workers that the same requests would keep busy all the time.
      The edge counts the fetch time of the stored response for each hit.`,
  })
  const ofReplicas = replicas === 1 ? '' : `, all ${replicas} replicas`
  return (
    <>
      <p class="quiet">
        Last ten seconds{ofReplicas}
        {replicas > 1 && '; latencies of the slowest one'}
      </p>
      <section class="figures" aria-label={`Last ten seconds${ofReplicas}`}>
        <Figure name="Manager time saved" value={saved} unit={unit} wide hint={hint.button} />
        <Figure name="Requests" value={formatRate(perSecond)} unit="/s" />
        <Figure name="Hit ratio" value={formatPercent(hitRatio)} />
        <Figure name="Latency p50" value={formatDuration(p50)} />
        <Figure name="Latency p99" value={formatDuration(p99)} />
        <Figure name="Calls to nodes" value={formatRate(callsPerSecond)} unit="/s" />
        <Figure name="Failures (5xx)" value={formatRate(failuresPerSecond)} unit="/s" bad={failuresPerSecond > 0} />
      </section>
      {hint.text}
    </>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly unit?: string
  readonly bad?: boolean
  /** Takes two places where the figures have two or four columns. */
  readonly wide?: boolean
  readonly hint?: ComponentChildren
}

function Figure({ name, value, unit, bad = false, wide = false, hint }: FigureProps) {
  return (
    <div class={`figure${bad ? ' bad' : ''}${wide ? ' figure-wide' : ''}`}>
      <span class="figure-name">
        {name}
        {hint}
      </span>
      <span class="figure-value">
        {value}
        {unit !== undefined && <small>{unit}</small>}
      </span>
    </div>
  )
}

function TotalsSinceStart({ now: { totals, edge, cache } }: { readonly now: Now }) {
  const { requests, hits, cacheable, calls, saved, failures } = totals
  return (
    <section aria-labelledby="since">
      <h2 id="since">Since this replica started, {formatDuration(Math.floor(edge.uptime / 1000) * 1000)} ago</h2>
      <dl class="pairs columns">
        <Property name="Requests" value={formatCount(requests)} />
        <Property name="Cache hits" value={`${formatCount(hits)} of ${formatCount(cacheable)} cacheable requests`} />
        <Property name="Calls to nodes" value={formatCount(calls)} />
        <Property name="Manager time saved" value={formatDuration(saved)} />
        <Property name="Failures (5xx)" value={formatCount(failures)} />
        <Property
          name="Cache store"
          value={
            !cache.enabled
              ? 'none: the cache is disabled'
              : cache.shared
                ? 'Redis, shared by all replicas'
                : 'memory of this process'
          }
        />
        {edge.ports.map(({ contract, url }) => (
          <Property key={contract} name={addressName(edge.ports, contract)} value={url} />
        ))}
      </dl>
    </section>
  )
}

function addressName(ports: readonly ClientPort[], contract: ClientPort['contract']): string {
  const isOnlyV3 = ports.length === 1 && contract === 'v3'
  return isOnlyV3 ? 'Address for clients' : `Address for clients, ${contractNames[contract]}`
}
