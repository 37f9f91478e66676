import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** Holds a MERGE that Spark has analysed but not yet started: its transaction is not open. */
public class HoldingExtension extends AbstractFunction1 {
    public Object apply(Object extensions) {
        ((SparkSessionExtensions) extensions).injectCheckRule(new ForSession());
        return BoxedUnit.UNIT;
    }

    public static class ForSession extends AbstractFunction1 {
        public Object apply(Object session) {
            return new Check(((SparkSession) session).sparkContext().hadoopConfiguration().get(Holds.FOLDER));
        }
    }

    public static class Check extends AbstractFunction1 {
        private final String holds;

        public Check(String holds) {
            this.holds = holds;
        }

        public Object apply(Object plan) {
            String kind = ((LogicalPlan) plan).nodeName();
            if (kind.contains("Merge")) {
                Holds.at(this.holds, "before_merge", plan.toString(), kind);
            }
            return BoxedUnit.UNIT;
        }
    }
}
