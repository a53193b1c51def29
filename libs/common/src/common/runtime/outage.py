from common.contracts.failures import Unavailable as Unavailable
