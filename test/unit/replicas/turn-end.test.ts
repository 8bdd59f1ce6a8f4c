import t from 'tap'
import { TurnEnd } from '../../../src/replicas/turn-end.ts'

t.test('a batch that throws ends its own callers only, and later turns send again', async (t) => {
  const turnEnd = new TurnEnd()
  const sent: string[] = []
  const send = (name: string) => async () => void sent.push(name)
  const failed = turnEnd.add(() => {
    throw new Error('not sent')
  })
  const others = [
    turnEnd.add(async () => {
      await turnEnd.add(send('added by a batch'))
    }),
    turnEnd.add(send('second')),
  ]
  t.strictSame(sent, [], 'none at once')
  await t.rejects(failed, { message: 'not sent' })
  await Promise.all(others)
  t.strictSame(sent, ['second', 'added by a batch'])
  await turnEnd.add(send('next turn'))
  t.equal(sent.length, 3)
})
