from common.contracts.outage import Outage as Outage
