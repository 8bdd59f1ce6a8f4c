import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, fakeNode, get } from './fake-node.ts'

const CALLS = 12

t.test(
  'the process prints no warning when more than ten calls have timed out and their node still works on them',
  async (t) => {
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => void warnings.push(message)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const node = await fakeNode(t, (request, response) => {
      if (!request.url?.startsWith('/late')) response.end('{"error":0,"data":"v3.11.4"}')
    })
    const cluster = clusterOf(t, node.url, { limits: { inFlight: CALLS } })
    const calls = Array.from({ length: CALLS }, (_, at) => cluster.call(get(`/late/${at}`, { timeout: 1000 })))
    await eventually(() => node.seen.filter(({ url }) => url?.startsWith('/late')).length === CALLS)
    const results = await Promise.all(calls)
    t.same([...new Set(results.map((result) => !result.ok && result.fault))], ['timeout'])
    await new Promise((resolve) => setImmediate(resolve))
    t.same(warnings, [])
  },
)
