// Starts a Chromium that the flows connect to, and prints its address. It ends when its input ends.
import { createRequire } from 'node:module'
import { join } from 'node:path'

const { chromium } = createRequire(join(process.env.STET_MODULES, 'x'))('playwright-core')

const server = await chromium.launchServer({
  executablePath: process.argv[2],
  chromiumSandbox: process.getuid?.() !== 0,
  args: ['--disable-dev-shm-usage'],
})
console.log(server.wsEndpoint())
process.stdin.resume()
process.stdin.on('end', async () => {
  await server.close()
  process.exit(0)
})
