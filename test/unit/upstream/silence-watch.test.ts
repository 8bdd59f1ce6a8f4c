/** What counts as a response of a node that is watched for silence. */
import t from 'tap'
import { SilenceWatch } from '../../../src/upstream/failure/silence.ts'
import type { ProbeOutcome } from '../../../src/upstream/probes.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterSettings, get } from './fake-node.ts'

const silence = { minWait: 1, maxWait: 1, probeTimeout: 1, probes: 1, pause: 1 }

for (const [outcome, isResponse] of [
  ['answered', true],
  ['blocked', true],
  ['notSent', false],
] satisfies readonly (readonly [ProbeOutcome, boolean])[])
  t.test(`a probe with the outcome ${outcome} is ${isResponse ? 'a' : 'no'} response, and no silence`, async (t) => {
    let probes = 0
    const { ejection, clock } = clusterSettings({ ejection: { silence } })
    const watch = new SilenceWatch({
      ejection,
      clock,
      onSilent: () => t.fail('silent'),
      probe: async () => {
        probes += 1
        return outcome
      },
    })
    t.teardown(() => watch.retire())
    watch.begin({ call: get(), giveUp: () => t.fail('given up'), usualTime: 0 })
    // The wait begins again after the first probe.
    await eventually(() => probes >= 2)
    t.equal(watch.lastResponse > Number.NEGATIVE_INFINITY, isResponse)
  })
