import { startFaultProxy } from '../faults/proxy.ts'

const proxy = await startFaultProxy(Number(process.argv[2]))
process.on('message', (fault: Parameters<typeof proxy.set>[0]) => {
  void proxy.set(fault).then(() => process.send?.('set'))
})
process.on('disconnect', () => process.exit())
process.send?.(proxy.port)
