import { actor } from '../../../protocol/lifecycle.ts'
import { askerContract } from './asker-contract.ts'
import { puppetContract } from './puppet-contract.ts'

const self = actor<void>()
const puppet = self.peer('puppet', puppetContract)

self.serve(askerContract, () => ({
  job: (way) => puppet.ask.job(way),
  jobAgain: (way) => puppet.again((ask) => ask.job(way)),
}))
self.live({ drain: async () => undefined })
