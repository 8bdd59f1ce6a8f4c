import { type ConnectionOptions, connect } from 'node:tls'

/** Resolves to the common name of the certificate that a new connection to a port of this machine receives. */
export function certificateNameAt(port: number, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...options, port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { subject } = socket.getPeerCertificate()
      socket.destroy()
      resolve(String(subject.CN))
    })
    socket.on('error', reject)
  })
}
