import t from 'tap'
import { EpochReader } from '../../../../src/cache/stores/epoch-reader.ts'
import { KnownEpochs } from '../../../../src/cache/stores/known-epochs.ts'
import type { RedisReplica } from '../../../../src/replicas/replica.ts'
import { TurnEnd } from '../../../../src/replicas/turn-end.ts'

t.test('a command that cannot be made ends all reads that wait for it, and later reads are sent', async (t) => {
  let isBroken = true
  const runScript = () => {
    if (isBroken) throw new RangeError('too many arguments')
    return Promise.resolve({ ok: true, value: ['generation', '7', '', '', '1~0', '2~0'] })
  }
  const contact = { reportReply: () => {}, observeGeneration: () => true }
  const replica = { elapsed: () => 0, turnEnd: new TurnEnd(), commands: { runScript }, contact, times: {} }
  const known = new KnownEpochs(() => 0)
  const reader = new EpochReader(replica as unknown as RedisReplica, known)
  const reads = [reader.read('a', ['tag']), reader.read('b', ['tag'])]
  for (const read of reads) await t.rejects(read, { message: 'too many arguments' })
  isBroken = false
  t.match(await reader.read('a', ['tag']), { generation: 'generation', epochs: ['1~0/2~0'], fenced: false })
  t.match(known.of('a', ['tag']), { epochs: ['1~0/2~0'] })
})
