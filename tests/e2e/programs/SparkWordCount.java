import java.util.Arrays;

import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

import scala.Tuple2;

/** Counts words: SparkWordCount INPUT OUTPUT PARTITIONS. The shuffle makes executors read from each other. */
public final class SparkWordCount {
  public static void main(String[] arguments) {
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("spark word count"))) {
      spark.textFile(arguments[0], Integer.parseInt(arguments[2]))
          .flatMap(line -> Arrays.asList(line.toLowerCase().split("[^a-z]+")).iterator())
          .filter(word -> !word.isEmpty())
          .mapToPair(word -> new Tuple2<>(word, 1L))
          .reduceByKey(Long::sum)
          .map(count -> count._1() + "\t" + count._2())
          .saveAsTextFile(arguments[1]);
    }
  }
}
